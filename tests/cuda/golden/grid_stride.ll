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
  %".116" = mul i64 %".12", 4
  %".117" = add i64 %".17", %".116"
  %".118" = icmp slt i64 %".117", %".15"
  %".119" = select  i1 %".118", i64 %".117", i64 %".15"
  %".120" = add i64 %".17", %".11"
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
  %".60" = bitcast float addrspace(1)* %".59" to <4 x float> addrspace(1)*
  %".61" = load <4 x float>, <4 x float> addrspace(1)* %".60", align 16, !alias.scope !6, !noalias !7
  %".62" = extractelement <4 x float> %".61", i32 0
  %".63" = extractelement <4 x float> %".61", i32 1
  %".64" = extractelement <4 x float> %".61", i32 2
  %".65" = extractelement <4 x float> %".61", i32 3
  %".66" = mul nsw i64 %".5", %".54"
  %".67" = add nsw i64 %".55", %".66"
  %".68" = getelementptr float, float addrspace(1)* %".8", i64 %".67"
  %".69" = bitcast float addrspace(1)* %".68" to <4 x float> addrspace(1)*
  %".70" = load <4 x float>, <4 x float> addrspace(1)* %".69", align 16, !alias.scope !4, !noalias !5
  %".71" = extractelement <4 x float> %".70", i32 0
  %".72" = extractelement <4 x float> %".70", i32 1
  %".73" = extractelement <4 x float> %".70", i32 2
  %".74" = extractelement <4 x float> %".70", i32 3
  %".75" = fadd float %".71", %".62"
  %".76" = fadd float %".72", %".63"
  %".77" = fadd float %".73", %".64"
  %".78" = fadd float %".74", %".65"
  %".79" = call float @"llvm.maximum.f32"(float %".75", float              0x0)
  %".80" = call float @"llvm.maximum.f32"(float %".76", float              0x0)
  %".81" = call float @"llvm.maximum.f32"(float %".77", float              0x0)
  %".82" = call float @"llvm.maximum.f32"(float %".78", float              0x0)
  %".83" = insertelement <4 x float> <float undef, float undef, float undef, float undef>, float %".79", i32 0
  %".84" = insertelement <4 x float> %".83", float %".80", i32 1
  %".85" = insertelement <4 x float> %".84", float %".81", i32 2
  %".86" = insertelement <4 x float> %".85", float %".82", i32 3
  %".87" = mul nsw i64 %".5", %".54"
  %".88" = add nsw i64 %".55", %".87"
  %".89" = getelementptr float, float addrspace(1)* %".10", i64 %".88"
  %".90" = bitcast float addrspace(1)* %".89" to <4 x float> addrspace(1)*
  store <4 x float> %".86", <4 x float> addrspace(1)* %".90", align 16, !alias.scope !8, !noalias !9
  br label %"body.if.if.endif"
body.if.if.else:
  br label %"head"
body.if.if.endif:
  br label %"body.if.endif"
head:
  %".94" = phi  i64 [%".19", %"body.if.if.else"], [%".111", %"loop"]
  %".95" = icmp slt i64 %".94", %".15"
  br i1 %".95", label %"loop", label %"after"
loop:
  %".97" = urem i64 %".94", %".5"
  %".98" = udiv i64 %".94", %".5"
  %".99" = getelementptr float, float addrspace(1)* %".9", i64 %".97"
  %".100" = load float, float addrspace(1)* %".99", !alias.scope !6, !noalias !7
  %".101" = mul nsw i64 %".5", %".98"
  %".102" = add nsw i64 %".97", %".101"
  %".103" = getelementptr float, float addrspace(1)* %".8", i64 %".102"
  %".104" = load float, float addrspace(1)* %".103", !alias.scope !4, !noalias !5
  %".105" = fadd float %".104", %".100"
  %".106" = call float @"llvm.maximum.f32"(float %".105", float              0x0)
  %".107" = mul nsw i64 %".5", %".98"
  %".108" = add nsw i64 %".97", %".107"
  %".109" = getelementptr float, float addrspace(1)* %".10", i64 %".108"
  store float %".106", float addrspace(1)* %".109", !alias.scope !8, !noalias !9
  %".111" = add nsw i64 %".94", 1
  br label %"head"
after:
  br label %"body.if.if.endif"
head.1:
  %".122" = phi  i64 [%".120", %"body.else"], [%".139", %"loop.1"]
  %".123" = icmp slt i64 %".122", %".119"
  br i1 %".123", label %"loop.1", label %"after.1"
loop.1:
  %".125" = urem i64 %".122", %".5"
  %".126" = udiv i64 %".122", %".5"
  %".127" = getelementptr float, float addrspace(1)* %".9", i64 %".125"
  %".128" = load float, float addrspace(1)* %".127", !alias.scope !6, !noalias !7
  %".129" = mul nsw i64 %".5", %".126"
  %".130" = add nsw i64 %".125", %".129"
  %".131" = getelementptr float, float addrspace(1)* %".8", i64 %".130"
  %".132" = load float, float addrspace(1)* %".131", !alias.scope !4, !noalias !5
  %".133" = fadd float %".132", %".128"
  %".134" = call float @"llvm.maximum.f32"(float %".133", float              0x0)
  %".135" = mul nsw i64 %".5", %".126"
  %".136" = add nsw i64 %".125", %".135"
  %".137" = getelementptr float, float addrspace(1)* %".10", i64 %".136"
  store float %".134", float addrspace(1)* %".137", !alias.scope !8, !noalias !9
  %".139" = add nsw i64 %".122", %".12"
  br label %"head.1"
after.1:
  br label %"body.endif"
}

@"shared" = external addrspace(3) global [0 x i8]
declare i64 @"thread"()

declare i64 @"threads"()

declare void @"barrier"()

declare void @"warp_barrier"()

declare i32 @"shuffle"(i32 %".1", i32 %".2")

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