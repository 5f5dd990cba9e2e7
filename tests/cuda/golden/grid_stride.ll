; shared 0
; ModuleID = "kernel"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"part"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5", i64 %".6")
{
entry:
  %".8" = inttoptr i64 %".2" to float addrspace(1)*
  %".9" = inttoptr i64 %".3" to float addrspace(1)*
  %".10" = inttoptr i64 %".4" to float addrspace(1)*
  br label %"body"
body:
  %".11" = call i64 @"thread"()
  %".12" = call i64 @"threads"()
  %".13" = mul i64 %".1", %".12"
  %".14" = add i64 %".13", %".11"
  %".15" = mul nsw i64 %".5", %".6"
  %".16" = mul i64 %".1", %".12"
  %".17" = mul i64 %".16", 4
  %".18" = mul i64 %".11", 4
  %".19" = add i64 %".17", %".18"
  %".20" = urem i64 %".5", 4
  %".21" = mul i64 0, 4
  %".22" = and i64 %".21", 15
  %".23" = or i64 %".20", %".22"
  %".24" = getelementptr float, float addrspace(1)* %".9", i64 0
  %".25" = ptrtoint float addrspace(1)* %".24" to i64
  %".26" = and i64 %".25", 15
  %".27" = or i64 %".23", %".26"
  %".28" = mul i64 %".5", 4
  %".29" = and i64 %".28", 15
  %".30" = or i64 %".27", %".29"
  %".31" = mul nsw i64 %".5", 0
  %".32" = add nsw i64 0, %".31"
  %".33" = getelementptr float, float addrspace(1)* %".8", i64 %".32"
  %".34" = ptrtoint float addrspace(1)* %".33" to i64
  %".35" = and i64 %".34", 15
  %".36" = or i64 %".30", %".35"
  %".37" = mul i64 %".5", 4
  %".38" = and i64 %".37", 15
  %".39" = or i64 %".36", %".38"
  %".40" = mul nsw i64 %".5", 0
  %".41" = add nsw i64 0, %".40"
  %".42" = getelementptr float, float addrspace(1)* %".10", i64 %".41"
  %".43" = ptrtoint float addrspace(1)* %".42" to i64
  %".44" = and i64 %".43", 15
  %".45" = or i64 %".39", %".44"
  %".46" = icmp eq i64 %".45", 0
  br i1 %".46", label %"body.if", label %"body.else"
body.if:
  %".48" = icmp slt i64 %".19", %".15"
  br i1 %".48", label %"body.if.if", label %"body.if.endif"
body.else:
  %".132" = mul i64 %".12", 4
  %".133" = add i64 %".17", %".132"
  %".134" = icmp slt i64 %".133", %".15"
  %".135" = select  i1 %".134", i64 %".133", i64 %".15"
  %".136" = add i64 %".17", %".11"
  br label %"head.1"
body.endif:
  ret void
body.if.if:
  %".50" = add i64 %".19", 4
  %".51" = icmp sle i64 %".50", %".15"
  br i1 %".51", label %"body.if.if.if", label %"body.if.if.else"
body.if.endif:
  br label %"body.endif"
body.if.if.if:
  %".53" = urem i64 %".19", %".5"
  %".54" = udiv i64 %".19", %".5"
  %".55" = add i64 %".53", 0
  %".56" = add i64 %".53", 1
  %".57" = add i64 %".53", 2
  %".58" = add i64 %".53", 3
  %".59" = getelementptr float, float addrspace(1)* %".9", i64 %".55"
  %".60" = bitcast float addrspace(1)* %".59" to i128 addrspace(1)*
  %".61" = load i128, i128 addrspace(1)* %".60", align 16, !alias.scope !6, !noalias !7
  %".62" = lshr i128 %".61", 0
  %".63" = trunc i128 %".62" to i32
  %".64" = lshr i128 %".61", 32
  %".65" = trunc i128 %".64" to i32
  %".66" = lshr i128 %".61", 64
  %".67" = trunc i128 %".66" to i32
  %".68" = lshr i128 %".61", 96
  %".69" = trunc i128 %".68" to i32
  %".70" = bitcast i32 %".63" to float
  %".71" = bitcast i32 %".65" to float
  %".72" = bitcast i32 %".67" to float
  %".73" = bitcast i32 %".69" to float
  %".74" = mul nsw i64 %".5", %".54"
  %".75" = add nsw i64 %".55", %".74"
  %".76" = getelementptr float, float addrspace(1)* %".8", i64 %".75"
  %".77" = bitcast float addrspace(1)* %".76" to i128 addrspace(1)*
  %".78" = load i128, i128 addrspace(1)* %".77", align 16, !alias.scope !4, !noalias !5
  %".79" = lshr i128 %".78", 0
  %".80" = trunc i128 %".79" to i32
  %".81" = lshr i128 %".78", 32
  %".82" = trunc i128 %".81" to i32
  %".83" = lshr i128 %".78", 64
  %".84" = trunc i128 %".83" to i32
  %".85" = lshr i128 %".78", 96
  %".86" = trunc i128 %".85" to i32
  %".87" = bitcast i32 %".80" to float
  %".88" = bitcast i32 %".82" to float
  %".89" = bitcast i32 %".84" to float
  %".90" = bitcast i32 %".86" to float
  %".91" = fadd float %".87", %".70"
  %".92" = fadd float %".88", %".71"
  %".93" = fadd float %".89", %".72"
  %".94" = fadd float %".90", %".73"
  %".95" = call float @"llvm.maximum.f32"(float %".91", float              0x0)
  %".96" = call float @"llvm.maximum.f32"(float %".92", float              0x0)
  %".97" = call float @"llvm.maximum.f32"(float %".93", float              0x0)
  %".98" = call float @"llvm.maximum.f32"(float %".94", float              0x0)
  %".99" = insertelement <4 x float> <float undef, float undef, float undef, float undef>, float %".95", i32 0
  %".100" = insertelement <4 x float> %".99", float %".96", i32 1
  %".101" = insertelement <4 x float> %".100", float %".97", i32 2
  %".102" = insertelement <4 x float> %".101", float %".98", i32 3
  %".103" = mul nsw i64 %".5", %".54"
  %".104" = add nsw i64 %".55", %".103"
  %".105" = getelementptr float, float addrspace(1)* %".10", i64 %".104"
  %".106" = bitcast float addrspace(1)* %".105" to <4 x float> addrspace(1)*
  store <4 x float> %".102", <4 x float> addrspace(1)* %".106", align 16, !alias.scope !8, !noalias !9
  br label %"body.if.if.endif"
body.if.if.else:
  br label %"head"
body.if.if.endif:
  br label %"body.if.endif"
head:
  %".110" = phi  i64 [%".19", %"body.if.if.else"], [%".127", %"loop"]
  %".111" = icmp slt i64 %".110", %".15"
  br i1 %".111", label %"loop", label %"after"
loop:
  %".113" = urem i64 %".110", %".5"
  %".114" = udiv i64 %".110", %".5"
  %".115" = getelementptr float, float addrspace(1)* %".9", i64 %".113"
  %".116" = load float, float addrspace(1)* %".115", !alias.scope !6, !noalias !7
  %".117" = mul nsw i64 %".5", %".114"
  %".118" = add nsw i64 %".113", %".117"
  %".119" = getelementptr float, float addrspace(1)* %".8", i64 %".118"
  %".120" = load float, float addrspace(1)* %".119", !alias.scope !4, !noalias !5
  %".121" = fadd float %".120", %".116"
  %".122" = call float @"llvm.maximum.f32"(float %".121", float              0x0)
  %".123" = mul nsw i64 %".5", %".114"
  %".124" = add nsw i64 %".113", %".123"
  %".125" = getelementptr float, float addrspace(1)* %".10", i64 %".124"
  store float %".122", float addrspace(1)* %".125", !alias.scope !8, !noalias !9
  %".127" = add nsw i64 %".110", 1
  br label %"head"
after:
  br label %"body.if.if.endif"
head.1:
  %".138" = phi  i64 [%".136", %"body.else"], [%".155", %"loop.1"]
  %".139" = icmp slt i64 %".138", %".135"
  br i1 %".139", label %"loop.1", label %"after.1"
loop.1:
  %".141" = urem i64 %".138", %".5"
  %".142" = udiv i64 %".138", %".5"
  %".143" = getelementptr float, float addrspace(1)* %".9", i64 %".141"
  %".144" = load float, float addrspace(1)* %".143", !alias.scope !6, !noalias !7
  %".145" = mul nsw i64 %".5", %".142"
  %".146" = add nsw i64 %".141", %".145"
  %".147" = getelementptr float, float addrspace(1)* %".8", i64 %".146"
  %".148" = load float, float addrspace(1)* %".147", !alias.scope !4, !noalias !5
  %".149" = fadd float %".148", %".144"
  %".150" = call float @"llvm.maximum.f32"(float %".149", float              0x0)
  %".151" = mul nsw i64 %".5", %".142"
  %".152" = add nsw i64 %".141", %".151"
  %".153" = getelementptr float, float addrspace(1)* %".10", i64 %".152"
  store float %".150", float addrspace(1)* %".153", !alias.scope !8, !noalias !9
  %".155" = add nsw i64 %".138", %".12"
  br label %"head.1"
after.1:
  br label %"body.endif"
}

declare i64 @"thread"()

declare i64 @"threads"()

declare void @"barrier"()

declare void @"warp_barrier"()

declare i32 @"shuffle"(i32 %".1", i32 %".2")

declare i16 @"to_bf16"(float %".1")

@"shared" = external addrspace(3) global [0 x i8]
define i64 @"blocks"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5")
{
entry:
  %".7" = call i64 @"threads"()
  %".8" = mul nsw i64 %".4", %".5"
  %".9" = mul i64 %".7", 4
  %".10" = sub i64 %".9", 1
  %".11" = add i64 %".8", %".10"
  %".12" = udiv i64 %".11", %".9"
  ret i64 %".12"
}

declare float @"llvm.maximum.f32"(float %".1", float %".2")

!0 = !{ !"mindlite" }
!1 = !{ !"argument 0", !0 }
!2 = !{ !"argument 1", !0 }
!3 = !{ !"argument 2", !0 }
!4 = !{ !1 }
!5 = !{ !2, !3 }
!6 = !{ !2 }
!7 = !{ !1, !3 }
!8 = !{ !3 }
!9 = !{ !1, !2 }