; shared 0
; ModuleID = "kernel"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"part"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5", i64 %".6", i64 %".7")
{
entry:
  %".9" = inttoptr i64 %".2" to float addrspace(1)*
  %".10" = inttoptr i64 %".3" to i64 addrspace(1)*
  %".11" = inttoptr i64 %".4" to float addrspace(1)*
  br label %"body"
body:
  %".12" = call i64 @"thread"()
  %".13" = call i64 @"threads"()
  %".14" = mul i64 %".1", %".13"
  %".15" = add i64 %".14", %".12"
  %".16" = mul nsw i64 %".5", %".6"
  %".17" = mul i64 %".1", %".13"
  %".18" = mul i64 %".17", 4
  %".19" = mul i64 %".12", 4
  %".20" = add i64 %".18", %".19"
  %".21" = urem i64 %".5", 4
  %".22" = mul i64 %".5", 4
  %".23" = and i64 %".22", 15
  %".24" = or i64 %".21", %".23"
  %".25" = mul nsw i64 %".5", 0
  %".26" = add nsw i64 0, %".25"
  %".27" = getelementptr float, float addrspace(1)* %".11", i64 %".26"
  %".28" = ptrtoint float addrspace(1)* %".27" to i64
  %".29" = and i64 %".28", 15
  %".30" = or i64 %".24", %".29"
  %".31" = icmp eq i64 %".30", 0
  br i1 %".31", label %"body.if", label %"body.else"
body.if:
  %".33" = icmp slt i64 %".20", %".16"
  br i1 %".33", label %"body.if.if", label %"body.if.endif"
body.else:
  %".214" = mul i64 %".13", 4
  %".215" = add i64 %".18", %".214"
  %".216" = icmp slt i64 %".215", %".16"
  %".217" = select  i1 %".216", i64 %".215", i64 %".16"
  %".218" = add i64 %".18", %".12"
  br label %"head.1"
body.endif:
  ret void
body.if.if:
  %".35" = add i64 %".20", 4
  %".36" = icmp sle i64 %".35", %".16"
  br i1 %".36", label %"body.if.if.if", label %"body.if.if.else"
body.if.endif:
  br label %"body.endif"
body.if.if.if:
  %".38" = urem i64 %".20", %".5"
  %".39" = udiv i64 %".20", %".5"
  %".40" = add i64 %".38", 0
  %".41" = add i64 %".38", 1
  %".42" = add i64 %".38", 2
  %".43" = add i64 %".38", 3
  %".44" = getelementptr i64, i64 addrspace(1)* %".10", i64 %".39"
  %".45" = load i64, i64 addrspace(1)* %".44", !alias.scope !6, !noalias !7
  %".46" = mul i64 %".45", %".5"
  %".47" = add i64 %".40", %".46"
  %".48" = getelementptr float, float addrspace(1)* %".9", i64 %".47"
  %".49" = load float, float addrspace(1)* %".48", !alias.scope !4, !noalias !5
  %".50" = call float @"llvm.fabs.f32"(float %".49")
  %".51" = fcmp ogt float %".50", 0x4024000000000000
  %".52" = select  i1 %".51", float 0x4024000000000000, float %".50"
  %".53" = fmul float %".52", 0xc000000000000000
  %".54" = call float @"llvm.fma.f32"(float %".53", float 0x3ff7154760000000, float 0x4168000fe0000000)
  %".55" = fsub float %".54", 0x4168000fe0000000
  %".56" = call float @"llvm.fma.f32"(float %".55", float 0xbfe62e4300000000, float %".53")
  %".57" = call float @"llvm.fma.f32"(float 0x3f56baf4c0000000, float %".56", float 0x3f81230c40000000)
  %".58" = call float @"llvm.fma.f32"(float %".57", float %".56", float 0x3fa5556ec0000000)
  %".59" = call float @"llvm.fma.f32"(float %".58", float %".56", float 0x3fc5554a60000000)
  %".60" = call float @"llvm.fma.f32"(float %".59", float %".56", float 0x3fdfffffe0000000)
  %".61" = fmul float %".56", %".56"
  %".62" = call float @"llvm.fma.f32"(float %".60", float %".61", float %".56")
  %".63" = bitcast float %".54" to i32
  %".64" = shl i32 %".63", 23
  %".65" = bitcast i32 %".64" to float
  %".66" = fneg float %".65"
  %".67" = fsub float 0x3ff0000000000000, %".65"
  %".68" = call float @"llvm.fma.f32"(float %".62", float %".66", float %".67")
  %".69" = fadd float 0x3ff0000000000000, %".65"
  %".70" = call float @"llvm.fma.f32"(float %".62", float %".65", float %".69")
  %".71" = fdiv float %".68", %".70"
  %".72" = call float @"llvm.copysign.f32"(float %".71", float %".49")
  %".73" = getelementptr i64, i64 addrspace(1)* %".10", i64 %".39"
  %".74" = load i64, i64 addrspace(1)* %".73", !alias.scope !6, !noalias !7
  %".75" = mul i64 %".74", %".5"
  %".76" = add i64 %".41", %".75"
  %".77" = getelementptr float, float addrspace(1)* %".9", i64 %".76"
  %".78" = load float, float addrspace(1)* %".77", !alias.scope !4, !noalias !5
  %".79" = call float @"llvm.fabs.f32"(float %".78")
  %".80" = fcmp ogt float %".79", 0x4024000000000000
  %".81" = select  i1 %".80", float 0x4024000000000000, float %".79"
  %".82" = fmul float %".81", 0xc000000000000000
  %".83" = call float @"llvm.fma.f32"(float %".82", float 0x3ff7154760000000, float 0x4168000fe0000000)
  %".84" = fsub float %".83", 0x4168000fe0000000
  %".85" = call float @"llvm.fma.f32"(float %".84", float 0xbfe62e4300000000, float %".82")
  %".86" = call float @"llvm.fma.f32"(float 0x3f56baf4c0000000, float %".85", float 0x3f81230c40000000)
  %".87" = call float @"llvm.fma.f32"(float %".86", float %".85", float 0x3fa5556ec0000000)
  %".88" = call float @"llvm.fma.f32"(float %".87", float %".85", float 0x3fc5554a60000000)
  %".89" = call float @"llvm.fma.f32"(float %".88", float %".85", float 0x3fdfffffe0000000)
  %".90" = fmul float %".85", %".85"
  %".91" = call float @"llvm.fma.f32"(float %".89", float %".90", float %".85")
  %".92" = bitcast float %".83" to i32
  %".93" = shl i32 %".92", 23
  %".94" = bitcast i32 %".93" to float
  %".95" = fneg float %".94"
  %".96" = fsub float 0x3ff0000000000000, %".94"
  %".97" = call float @"llvm.fma.f32"(float %".91", float %".95", float %".96")
  %".98" = fadd float 0x3ff0000000000000, %".94"
  %".99" = call float @"llvm.fma.f32"(float %".91", float %".94", float %".98")
  %".100" = fdiv float %".97", %".99"
  %".101" = call float @"llvm.copysign.f32"(float %".100", float %".78")
  %".102" = getelementptr i64, i64 addrspace(1)* %".10", i64 %".39"
  %".103" = load i64, i64 addrspace(1)* %".102", !alias.scope !6, !noalias !7
  %".104" = mul i64 %".103", %".5"
  %".105" = add i64 %".42", %".104"
  %".106" = getelementptr float, float addrspace(1)* %".9", i64 %".105"
  %".107" = load float, float addrspace(1)* %".106", !alias.scope !4, !noalias !5
  %".108" = call float @"llvm.fabs.f32"(float %".107")
  %".109" = fcmp ogt float %".108", 0x4024000000000000
  %".110" = select  i1 %".109", float 0x4024000000000000, float %".108"
  %".111" = fmul float %".110", 0xc000000000000000
  %".112" = call float @"llvm.fma.f32"(float %".111", float 0x3ff7154760000000, float 0x4168000fe0000000)
  %".113" = fsub float %".112", 0x4168000fe0000000
  %".114" = call float @"llvm.fma.f32"(float %".113", float 0xbfe62e4300000000, float %".111")
  %".115" = call float @"llvm.fma.f32"(float 0x3f56baf4c0000000, float %".114", float 0x3f81230c40000000)
  %".116" = call float @"llvm.fma.f32"(float %".115", float %".114", float 0x3fa5556ec0000000)
  %".117" = call float @"llvm.fma.f32"(float %".116", float %".114", float 0x3fc5554a60000000)
  %".118" = call float @"llvm.fma.f32"(float %".117", float %".114", float 0x3fdfffffe0000000)
  %".119" = fmul float %".114", %".114"
  %".120" = call float @"llvm.fma.f32"(float %".118", float %".119", float %".114")
  %".121" = bitcast float %".112" to i32
  %".122" = shl i32 %".121", 23
  %".123" = bitcast i32 %".122" to float
  %".124" = fneg float %".123"
  %".125" = fsub float 0x3ff0000000000000, %".123"
  %".126" = call float @"llvm.fma.f32"(float %".120", float %".124", float %".125")
  %".127" = fadd float 0x3ff0000000000000, %".123"
  %".128" = call float @"llvm.fma.f32"(float %".120", float %".123", float %".127")
  %".129" = fdiv float %".126", %".128"
  %".130" = call float @"llvm.copysign.f32"(float %".129", float %".107")
  %".131" = getelementptr i64, i64 addrspace(1)* %".10", i64 %".39"
  %".132" = load i64, i64 addrspace(1)* %".131", !alias.scope !6, !noalias !7
  %".133" = mul i64 %".132", %".5"
  %".134" = add i64 %".43", %".133"
  %".135" = getelementptr float, float addrspace(1)* %".9", i64 %".134"
  %".136" = load float, float addrspace(1)* %".135", !alias.scope !4, !noalias !5
  %".137" = call float @"llvm.fabs.f32"(float %".136")
  %".138" = fcmp ogt float %".137", 0x4024000000000000
  %".139" = select  i1 %".138", float 0x4024000000000000, float %".137"
  %".140" = fmul float %".139", 0xc000000000000000
  %".141" = call float @"llvm.fma.f32"(float %".140", float 0x3ff7154760000000, float 0x4168000fe0000000)
  %".142" = fsub float %".141", 0x4168000fe0000000
  %".143" = call float @"llvm.fma.f32"(float %".142", float 0xbfe62e4300000000, float %".140")
  %".144" = call float @"llvm.fma.f32"(float 0x3f56baf4c0000000, float %".143", float 0x3f81230c40000000)
  %".145" = call float @"llvm.fma.f32"(float %".144", float %".143", float 0x3fa5556ec0000000)
  %".146" = call float @"llvm.fma.f32"(float %".145", float %".143", float 0x3fc5554a60000000)
  %".147" = call float @"llvm.fma.f32"(float %".146", float %".143", float 0x3fdfffffe0000000)
  %".148" = fmul float %".143", %".143"
  %".149" = call float @"llvm.fma.f32"(float %".147", float %".148", float %".143")
  %".150" = bitcast float %".141" to i32
  %".151" = shl i32 %".150", 23
  %".152" = bitcast i32 %".151" to float
  %".153" = fneg float %".152"
  %".154" = fsub float 0x3ff0000000000000, %".152"
  %".155" = call float @"llvm.fma.f32"(float %".149", float %".153", float %".154")
  %".156" = fadd float 0x3ff0000000000000, %".152"
  %".157" = call float @"llvm.fma.f32"(float %".149", float %".152", float %".156")
  %".158" = fdiv float %".155", %".157"
  %".159" = call float @"llvm.copysign.f32"(float %".158", float %".136")
  %".160" = insertelement <4 x float> <float undef, float undef, float undef, float undef>, float %".72", i32 0
  %".161" = insertelement <4 x float> %".160", float %".101", i32 1
  %".162" = insertelement <4 x float> %".161", float %".130", i32 2
  %".163" = insertelement <4 x float> %".162", float %".159", i32 3
  %".164" = mul nsw i64 %".5", %".39"
  %".165" = add nsw i64 %".40", %".164"
  %".166" = getelementptr float, float addrspace(1)* %".11", i64 %".165"
  %".167" = bitcast float addrspace(1)* %".166" to <4 x float> addrspace(1)*
  store <4 x float> %".163", <4 x float> addrspace(1)* %".167", align 16, !alias.scope !8, !noalias !9
  br label %"body.if.if.endif"
body.if.if.else:
  br label %"head"
body.if.if.endif:
  br label %"body.if.endif"
head:
  %".171" = phi  i64 [%".20", %"body.if.if.else"], [%".209", %"loop"]
  %".172" = icmp slt i64 %".171", %".16"
  br i1 %".172", label %"loop", label %"after"
loop:
  %".174" = urem i64 %".171", %".5"
  %".175" = udiv i64 %".171", %".5"
  %".176" = getelementptr i64, i64 addrspace(1)* %".10", i64 %".175"
  %".177" = load i64, i64 addrspace(1)* %".176", !alias.scope !6, !noalias !7
  %".178" = mul i64 %".177", %".5"
  %".179" = add i64 %".174", %".178"
  %".180" = getelementptr float, float addrspace(1)* %".9", i64 %".179"
  %".181" = load float, float addrspace(1)* %".180", !alias.scope !4, !noalias !5
  %".182" = call float @"llvm.fabs.f32"(float %".181")
  %".183" = fcmp ogt float %".182", 0x4024000000000000
  %".184" = select  i1 %".183", float 0x4024000000000000, float %".182"
  %".185" = fmul float %".184", 0xc000000000000000
  %".186" = call float @"llvm.fma.f32"(float %".185", float 0x3ff7154760000000, float 0x4168000fe0000000)
  %".187" = fsub float %".186", 0x4168000fe0000000
  %".188" = call float @"llvm.fma.f32"(float %".187", float 0xbfe62e4300000000, float %".185")
  %".189" = call float @"llvm.fma.f32"(float 0x3f56baf4c0000000, float %".188", float 0x3f81230c40000000)
  %".190" = call float @"llvm.fma.f32"(float %".189", float %".188", float 0x3fa5556ec0000000)
  %".191" = call float @"llvm.fma.f32"(float %".190", float %".188", float 0x3fc5554a60000000)
  %".192" = call float @"llvm.fma.f32"(float %".191", float %".188", float 0x3fdfffffe0000000)
  %".193" = fmul float %".188", %".188"
  %".194" = call float @"llvm.fma.f32"(float %".192", float %".193", float %".188")
  %".195" = bitcast float %".186" to i32
  %".196" = shl i32 %".195", 23
  %".197" = bitcast i32 %".196" to float
  %".198" = fneg float %".197"
  %".199" = fsub float 0x3ff0000000000000, %".197"
  %".200" = call float @"llvm.fma.f32"(float %".194", float %".198", float %".199")
  %".201" = fadd float 0x3ff0000000000000, %".197"
  %".202" = call float @"llvm.fma.f32"(float %".194", float %".197", float %".201")
  %".203" = fdiv float %".200", %".202"
  %".204" = call float @"llvm.copysign.f32"(float %".203", float %".181")
  %".205" = mul nsw i64 %".5", %".175"
  %".206" = add nsw i64 %".174", %".205"
  %".207" = getelementptr float, float addrspace(1)* %".11", i64 %".206"
  store float %".204", float addrspace(1)* %".207", !alias.scope !8, !noalias !9
  %".209" = add nsw i64 %".171", 1
  br label %"head"
after:
  br label %"body.if.if.endif"
head.1:
  %".220" = phi  i64 [%".218", %"body.else"], [%".258", %"loop.1"]
  %".221" = icmp slt i64 %".220", %".217"
  br i1 %".221", label %"loop.1", label %"after.1"
loop.1:
  %".223" = urem i64 %".220", %".5"
  %".224" = udiv i64 %".220", %".5"
  %".225" = getelementptr i64, i64 addrspace(1)* %".10", i64 %".224"
  %".226" = load i64, i64 addrspace(1)* %".225", !alias.scope !6, !noalias !7
  %".227" = mul i64 %".226", %".5"
  %".228" = add i64 %".223", %".227"
  %".229" = getelementptr float, float addrspace(1)* %".9", i64 %".228"
  %".230" = load float, float addrspace(1)* %".229", !alias.scope !4, !noalias !5
  %".231" = call float @"llvm.fabs.f32"(float %".230")
  %".232" = fcmp ogt float %".231", 0x4024000000000000
  %".233" = select  i1 %".232", float 0x4024000000000000, float %".231"
  %".234" = fmul float %".233", 0xc000000000000000
  %".235" = call float @"llvm.fma.f32"(float %".234", float 0x3ff7154760000000, float 0x4168000fe0000000)
  %".236" = fsub float %".235", 0x4168000fe0000000
  %".237" = call float @"llvm.fma.f32"(float %".236", float 0xbfe62e4300000000, float %".234")
  %".238" = call float @"llvm.fma.f32"(float 0x3f56baf4c0000000, float %".237", float 0x3f81230c40000000)
  %".239" = call float @"llvm.fma.f32"(float %".238", float %".237", float 0x3fa5556ec0000000)
  %".240" = call float @"llvm.fma.f32"(float %".239", float %".237", float 0x3fc5554a60000000)
  %".241" = call float @"llvm.fma.f32"(float %".240", float %".237", float 0x3fdfffffe0000000)
  %".242" = fmul float %".237", %".237"
  %".243" = call float @"llvm.fma.f32"(float %".241", float %".242", float %".237")
  %".244" = bitcast float %".235" to i32
  %".245" = shl i32 %".244", 23
  %".246" = bitcast i32 %".245" to float
  %".247" = fneg float %".246"
  %".248" = fsub float 0x3ff0000000000000, %".246"
  %".249" = call float @"llvm.fma.f32"(float %".243", float %".247", float %".248")
  %".250" = fadd float 0x3ff0000000000000, %".246"
  %".251" = call float @"llvm.fma.f32"(float %".243", float %".246", float %".250")
  %".252" = fdiv float %".249", %".251"
  %".253" = call float @"llvm.copysign.f32"(float %".252", float %".230")
  %".254" = mul nsw i64 %".5", %".224"
  %".255" = add nsw i64 %".223", %".254"
  %".256" = getelementptr float, float addrspace(1)* %".11", i64 %".255"
  store float %".253", float addrspace(1)* %".256", !alias.scope !8, !noalias !9
  %".258" = add nsw i64 %".220", %".13"
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
define i64 @"blocks"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5", i64 %".6")
{
entry:
  %".8" = call i64 @"threads"()
  %".9" = mul nsw i64 %".4", %".5"
  %".10" = mul i64 %".8", 4
  %".11" = sub i64 %".10", 1
  %".12" = add i64 %".9", %".11"
  %".13" = udiv i64 %".12", %".10"
  ret i64 %".13"
}

declare float @"llvm.fabs.f32"(float %".1")

declare float @"llvm.fma.f32"(float %".1", float %".2", float %".3")

declare float @"llvm.copysign.f32"(float %".1", float %".2")

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